// clock clk, reset rst_n async low
module inside_case (input logic clk, rst_n, input logic [7:0] a, output logic [1:0] kind);
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) kind <= '0;
    else case (a) inside [8'd0:8'd9]: kind <= 2'd1; 8'b1???_????: kind <= 2'd2; default: kind <= 2'd3; endcase
endmodule
