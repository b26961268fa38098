// clock clk, reset rst sync high
module arbiter_rr #(parameter int N = 4) (input logic clk, rst, input logic [N-1:0] req, output logic [N-1:0] gnt);
  logic [N-1:0] mask, masked;
  assign masked = req & mask;
  always_comb begin
    gnt = '0;
    for (int i = N-1; i >= 0; i--) if (req[i]) gnt = N'(1) << i;
    if (|masked) for (int i = N-1; i >= 0; i--) if (masked[i]) gnt = N'(1) << i;
  end
  always_ff @(posedge clk) if (rst) mask <= '1; else if (|gnt) mask <= ~((gnt - 1'b1) | gnt);
  assert property (@(posedge clk) disable iff (rst) |req |-> $onehot(gnt));
  assert property (@(posedge clk) disable iff (rst) $onehot0(gnt)) else $error("two grants");
  cover property (@(posedge clk) gnt[N-1]);
endmodule
