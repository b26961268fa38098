// clock clock, reset reset sync high
module Chisel_Queue( // from Chisel
  input clock, input reset, output io_enq_ready, input io_enq_valid, input [7:0] io_enq_bits,
  input io_deq_ready, output io_deq_valid, output [7:0] io_deq_bits);
  reg [7:0] ram [0:1]; reg enq_ptr_value, deq_ptr_value, maybe_full;
  wire ptr_match = enq_ptr_value == deq_ptr_value;
  wire empty = ptr_match & ~maybe_full, full = ptr_match & maybe_full;
  wire do_enq = io_enq_ready & io_enq_valid, do_deq = io_deq_ready & io_deq_valid;
  always @(posedge clock) begin
    if (do_enq) ram[enq_ptr_value] <= io_enq_bits;
    if (reset) begin enq_ptr_value <= 1'h0; deq_ptr_value <= 1'h0; maybe_full <= 1'h0; end
    else begin
      if (do_enq) enq_ptr_value <= enq_ptr_value - 1'h1;
      if (do_deq) deq_ptr_value <= deq_ptr_value - 1'h1;
      if (~(do_enq == do_deq)) maybe_full <= do_enq;
    end
  end
  assign io_enq_ready = ~full, io_deq_valid = ~empty, io_deq_bits = ram[deq_ptr_value];
endmodule
