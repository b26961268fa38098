// clock clk, reset rst_n sync low
module soft_clear (input logic clk, rst_n, clear, en, output logic [7:0] n);
  always_ff @(posedge clk) if (!rst_n || clear) n <= '0; else if (en) n <= n + 8'd1;
endmodule
