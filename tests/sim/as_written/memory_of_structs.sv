// clock clk, reset rst_n async low
module memory_of_structs (input logic clk, rst_n, input logic [1:0] a, input logic w, input logic [7:0] tag, output logic hit);
  typedef struct packed { logic valid; logic [7:0] tag; } line_t;
  line_t lines [4];
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) foreach (lines[i]) lines[i] <= '{valid: 1'b0, tag: '0};
    else if (w) lines[a] <= '{1'b1, tag};
  assign hit = lines[a].valid && lines[a].tag == tag;
endmodule
