// clock clk, no reset
module bram_dp #(parameter AW = 4, DW = 8) (input logic clk, input logic we, input logic [AW-1:0] wa, ra,
  input logic [DW-1:0] wd, output logic [DW-1:0] rd);
  (* ram_style = "block" *) logic [DW-1:0] mem [2**AW];
  initial for (int i = 0; i < 2**AW; i++) mem[i] = '0;
  always_ff @(posedge clk) begin if (we) mem[wa] <= wd; rd <= mem[ra]; end
endmodule
