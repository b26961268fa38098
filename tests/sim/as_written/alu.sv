// no registers
package alu_pkg; typedef enum logic [1:0] {ADD, SUB, AND, SLT} op_e; endpackage
module alu import alu_pkg::*; #(parameter int W = 8) (input op_e op, input logic [W-1:0] a, b, output logic [W-1:0] y, output logic zero);
  always_comb unique case (op)
    ADD: y = a + b; SUB: y = a - b; AND: y = a & b; SLT: y = W'($signed(a) < $signed(b));
  endcase
  assign zero = ~|y;
endmodule
