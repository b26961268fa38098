// clock sys_clk, reset sys_rst sync high
module litex_counter (input wire sys_clk, input wire sys_rst, output wire [3:0] value);
  reg [3:0] c = 4'd0; assign value = c;
  always @(posedge sys_clk) begin c <= c + 1'd1; if (sys_rst) c <= 4'd0; end
endmodule
