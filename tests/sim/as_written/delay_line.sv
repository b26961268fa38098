// clock clk, reset rst_n async low
module delay_line #(parameter int STAGES = 3, parameter type T = logic [7:0]) (input logic clk, rst_n, input T d, output T q);
  T pipe [STAGES];
  for (genvar i = 0; i < STAGES; i++) begin : g_stage
    always_ff @(posedge clk or negedge rst_n)
      if (!rst_n) pipe[i] <= '0; else pipe[i] <= i == 0 ? d : pipe[i-1];
  end
  assign q = pipe[STAGES-1];
endmodule
