// clock clk, reset rst sync high
module popcount_tree #(parameter int W = 16) (input logic clk, rst, input logic [W-1:0] x, output logic [$clog2(W):0] n);
  logic [$clog2(W):0] m;
  assign m = $countones(x);
  always_ff @(posedge clk) begin n <= m; if (rst) n <= '0; end
endmodule
