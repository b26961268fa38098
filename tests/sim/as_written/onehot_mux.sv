// clock clk, reset rst sync high
module onehot_mux #(parameter int N = 4, W = 8) (input logic clk, rst, input logic [N-1:0][W-1:0] d, input logic [N-1:0] s, output logic [W-1:0] q);
  logic [W-1:0] m;
  always_comb begin m = '0; for (int i = 0; i < N; i++) m |= {W{s[i]}} & d[i]; end
  always_ff @(posedge clk) if (rst) q <= '0; else q <= m;
endmodule
