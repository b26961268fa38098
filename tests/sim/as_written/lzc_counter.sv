// clock clk_i, reset rst_ni async low
`define FF(q, d, rv) always_ff @(posedge clk_i or negedge rst_ni) if (!rst_ni) q <= rv; else q <= d;
module lzc_counter #(parameter int unsigned WIDTH = 8, parameter bit MODE = 1'b0) (
  input logic clk_i, rst_ni, input logic [WIDTH-1:0] in_i, output logic [$clog2(WIDTH+1)-1:0] cnt_o);
  logic [$clog2(WIDTH+1)-1:0] n;
  always_comb begin n = '0; for (int i = 0; i < WIDTH; i++) if (in_i[i] ^ MODE) n += 1; end
  `FF(cnt_o, n, '0)
endmodule
