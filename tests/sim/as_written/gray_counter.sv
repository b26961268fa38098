// clock clk, reset arst_n async low
module gray_counter #(parameter W = 4) (input logic clk, arst_n, en, output logic [W-1:0] gray);
  function automatic logic [W-1:0] bin2gray(input logic [W-1:0] b); return b ^ (b >> 1); endfunction
  logic [W-1:0] bin;
  always_ff @(posedge clk or negedge arst_n) if (!arst_n) bin <= '0; else if (en) bin <= bin + 1'b1;
  assign gray = bin2gray(bin);
endmodule
