// clock clk, reset reset_n async low
package dot_pkg; typedef logic [3:0][7:0] vec_t; typedef logic signed [19:0] acc_t; endpackage
module simd_dot import dot_pkg::*; (input logic clk, reset_n, input vec_t a, b, input logic go, output acc_t y);
  acc_t sum;
  always_comb begin sum = '0; foreach (a[i]) sum += $signed(a[i]) * $signed(b[i]); end
  always_ff @(posedge clk or negedge reset_n) if (!reset_n) y <= '0; else if (go) y <= y + sum;
endmodule
