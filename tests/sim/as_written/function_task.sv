// clock clk, reset rst_n async low
module function_task (input logic clk, rst_n, input logic [7:0] a, output logic [7:0] y);
  task automatic bump(input logic [7:0] x, output logic [7:0] z); z = x + 8'd1; endtask
  logic [7:0] n; always_comb bump(a, n);
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) y <= '0; else y <= n;
  // synthesis translate_off
  initial $display("simulating %m");
  always @(posedge clk) if (y == 8'hFF) $display("wraps at %0t", $time);
  // synthesis translate_on
endmodule
