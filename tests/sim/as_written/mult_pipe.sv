// clock clk, reset rst_ni async low
module mult_pipe #(parameter int W = 8, parameter int S = 2) (input logic clk, rst_ni, input logic signed [W-1:0] a, b,
  input logic v, output logic signed [2*W-1:0] p, output logic pv);
  typedef struct packed { logic valid; logic signed [2*W-1:0] value; } stage_t;
  stage_t [S-1:0] st;
  always_ff @(posedge clk or negedge rst_ni)
    if (!rst_ni) st <= '0;
    else begin st[0] <= '{valid: v, value: a * b}; for (int i = 1; i < S; i++) st[i] <= st[i-1]; end
  assign {pv, p} = st[S-1];
endmodule
