// refused: port b of the top is an interface: write a module around it
interface bare_if; logic a; modport s(input a); endinterface
module interface_top (input logic clk, bare_if.s b, output logic y); always_ff @(posedge clk) y <= b.a; endmodule
