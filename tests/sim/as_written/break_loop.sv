// clock clk, reset rst_n async low
module break_loop #(parameter int N = 8) (input logic clk, rst_n, input logic [N-1:0] v, output logic [$clog2(N)-1:0] first, output logic any);
  logic [$clog2(N)-1:0] f;
  always_comb begin f = '0; for (int i = 0; i < N; i++) if (v[i]) begin f = i; break; end end
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) begin first <= '0; any <= '0; end else begin first <= f; any <= |v; end
endmodule
