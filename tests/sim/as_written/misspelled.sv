// refused: misspelled.sv:2: use of undeclared identifier 'dd'
module misspelled (input logic clk, d, output logic q); always_ff @(posedge clk) q <= dd; endmodule
