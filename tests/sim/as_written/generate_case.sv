// clock clk, reset rst_n async low
module generate_case #(parameter string KIND = "fast") (input logic clk, rst_n, input logic [7:0] a, b, output logic [8:0] y);
  logic [8:0] s;
  if (KIND == "fast") begin : g_fast assign s = a + b; end else begin : g_slow assign s = {1'b0, a} + {1'b0, b}; end
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) y <= '0; else y <= s;
endmodule
