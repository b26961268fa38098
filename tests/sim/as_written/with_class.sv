// refused: with_class.sv:3: unsupported language feature
class packet; rand bit [7:0] d; endclass
module with_class (input logic clk, output logic y); packet p; initial p = new(); always_ff @(posedge clk) y <= 1; endmodule
