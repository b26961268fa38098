// clock clk, reset rst_n async low
module streaming (input logic clk, rst_n, input logic [7:0] d, output logic [7:0] r, output logic odd);
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) r <= '0; else r <= {<<{d}};
  assign odd = ^r;
endmodule
