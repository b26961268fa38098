// clock PCLK, reset PRESETn async low
module apb_timer (input PCLK, input PRESETn, input PSEL, PENABLE, PWRITE, input [7:0] PADDR,
  input [31:0] PWDATA, output logic [31:0] PRDATA, output PREADY, output logic irq);
  logic [31:0] count, limit;
  assign PREADY = 1'b1;
  always_ff @(posedge PCLK or negedge PRESETn) begin
    if (!PRESETn) {count, limit, irq} <= '0;
    else begin
      count <= count == limit ? '0 : count + 1; irq <= count == limit;
      if (PSEL && PENABLE && PWRITE && PADDR == 8'h4) limit <= PWDATA;
    end
  end
  always_comb case (PADDR) 8'h0: PRDATA = count; 8'h4: PRDATA = limit; default: PRDATA = 'x; endcase
endmodule
