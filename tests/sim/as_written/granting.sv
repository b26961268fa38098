// clock clk, reset rst_n async low
module bound_checker #(parameter int N = 4) (input logic clk, rst_n, input logic [N-1:0] g);
  always_ff @(posedge clk) if (rst_n) assert ($onehot0(g)) else $error("g");
endmodule
module granting #(parameter int N = 4) (input logic clk, rst_n, input logic [N-1:0] r, output logic [N-1:0] g);
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) g <= '0; else g <= r & -r;
  bound_checker #(.N(N)) u_check (.*);
endmodule
