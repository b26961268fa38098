// clock CLK, reset RST_N sync low
module mkCounter(CLK, RST_N, EN_inc, read, RDY_read);
  input CLK; input RST_N; input EN_inc; output [7:0] read; output RDY_read;
  reg [7:0] value; wire [7:0] value$D_IN = value + 8'd1;
  assign read = value; assign RDY_read = 1'd1;
  always @(posedge CLK) begin
    if (RST_N == 1'b0) value <= 8'd0;
    else if (EN_inc) value <= value$D_IN;
  end
`ifdef BSV_NO_INITIAL_BLOCKS
`else
  // synopsys translate_off
  initial begin value = 8'hAA; end
  // synopsys translate_on
`endif
endmodule
