// clock clk, reset rst_n async low
module register_file #(parameter int XLEN = 32, parameter int N = 8) (input logic clk, rst_n, input logic we,
  input logic [$clog2(N)-1:0] rs1, rs2, rd, input logic [XLEN-1:0] wd, output logic [XLEN-1:0] r1, r2);
  logic [N-1:0][XLEN-1:0] x;
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) x <= '0; else if (we && rd != 0) x[rd] <= wd;
  assign r1 = rs1 == 0 ? '0 : x[rs1], r2 = rs2 == 0 ? '0 : x[rs2];
endmodule
