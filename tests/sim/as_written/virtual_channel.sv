// clock clk, reset rst_n async low
module virtual_channel #(parameter int V = 2, parameter int unsigned DEPTHS [V] = '{2, 4}) (input logic clk, rst_n,
  input logic [V-1:0] push, pop, output logic [V-1:0] full);
  for (genvar v = 0; v < V; v++) begin : g_vc
    logic [$clog2(DEPTHS[v]+1)-1:0] n;
    assign full[v] = n == DEPTHS[v];
    always_ff @(posedge clk or negedge rst_n) if (!rst_n) n <= '0; else n <= n + push[v] - pop[v];
  end
endmodule
