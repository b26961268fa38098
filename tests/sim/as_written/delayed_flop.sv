// clock clk, reset rst_n async low
module delayed_flop (input clk, input rst_n, input d, output reg q);
  always @(posedge clk or negedge rst_n) if (!rst_n) q <= #1 1'b0; else q <= #1 d;
endmodule
