// clock clk, reset rst_n async low
module unpacked_ports (input logic clk, rst_n, input logic [7:0] d [3], output logic [7:0] q [3]);
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) q <= '{default: '0}; else q <= d;
endmodule
