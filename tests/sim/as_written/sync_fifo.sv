// clock clk, reset rst_n async low
package fifo_pkg;
  typedef struct packed { logic last; logic [7:0] data; } beat_t;
endpackage
module sync_fifo import fifo_pkg::*; #(parameter int DEPTH = 4) (
  input  logic  clk, rst_n,
  input  beat_t in_beat, input logic in_valid, output logic in_ready,
  output beat_t out_beat, output logic out_valid, input logic out_ready);
  localparam int AW = $clog2(DEPTH);
  beat_t mem [DEPTH];
  logic [AW:0] wp, rp;
  assign in_ready  = (wp - rp) != (AW+1)'(DEPTH);
  assign out_valid = wp != rp;
  assign out_beat  = mem[rp[AW-1:0]];
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) begin wp <= '0; rp <= '0; end
    else begin
      if (in_valid && in_ready) wp <= wp + 1'b1;
      if (out_valid && out_ready) rp <= rp + 1'b1;
    end
  always_ff @(posedge clk) if (in_valid && in_ready) mem[wp[AW-1:0]] <= in_beat;
endmodule
