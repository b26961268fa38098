// clock clk, reset rst_n async low
module union_cast (input logic clk, rst_n, input logic [31:0] w, output logic [15:0] hi, output logic [7:0] low);
  typedef union packed { logic [31:0] w; logic [1:0][15:0] h; logic [3:0][7:0] b; } word_t;
  word_t u;
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) u <= '0; else u.w <= w;
  assign hi = u.h[1], low = u.b[0];
endmodule
