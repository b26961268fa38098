// refused: register at gated_counter.sv:10.3 has a clock that is made of signals
module latch_gate (input logic clk, en, output logic gclk);
  logic q;
  always_latch if (!clk) q = en;
  assign gclk = clk & q;
endmodule
module gated_counter (input logic clk, rst_n, en, output logic [3:0] n);
  logic gclk;
  latch_gate u_gate (.clk, .en, .gclk);
  always_ff @(posedge gclk or negedge rst_n) if (!rst_n) n <= '0; else n <= n + 4'd1;
endmodule
