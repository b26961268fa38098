// clock clk, reset rst_n async low
module reset_synchronised (input logic clk, rst_n, d, output logic q);
  logic [1:0] s; logic srst_n;
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) s <= 2'b00; else s <= {s[0], 1'b1};
  assign srst_n = s[1];
  always_ff @(posedge clk) if (!srst_n) q <= 1'b0; else q <= d;
endmodule
