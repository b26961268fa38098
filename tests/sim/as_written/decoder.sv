// clock clk, reset rst_n async low
package decode_pkg;
  typedef enum logic [6:0] {LUI = 7'h37, OPIMM = 7'h13, BRANCH = 7'h63} opcode_e;
  typedef struct packed { logic [11:0] imm; logic [4:0] rs1; logic [2:0] f3; logic [4:0] rd; opcode_e op; } itype_t;
  function automatic logic is_branch(input opcode_e o); return o == BRANCH; endfunction
endpackage
module decoder import decode_pkg::*; (input logic clk, rst_n, input logic [31:0] instr, output logic branch, output logic [4:0] rd);
  itype_t i; assign i = itype_t'(instr);
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) {branch, rd} <= '0; else begin branch <= is_branch(i.op); rd <= i.rd; end
endmodule
