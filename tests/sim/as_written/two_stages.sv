// clock clk_i, reset rst_ni async low
interface stream_if #(parameter int W = 8);
  logic [W-1:0] data; logic valid, ready;
  modport src (output data, valid, input ready);
  modport dst (input data, valid, output ready);
endinterface
module stage #(parameter int W = 8) (input logic clk_i, rst_ni, stream_if.dst i, stream_if.src o);
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin o.valid <= 1'b0; o.data <= '0; end
    else if (i.ready) begin o.valid <= i.valid; o.data <= i.data; end
  assign i.ready = !o.valid || o.ready;
endmodule
module two_stages #(parameter int W = 8) (input logic clk_i, rst_ni,
  input logic [W-1:0] d_i, input logic v_i, output logic r_o,
  output logic [W-1:0] d_o, output logic v_o, input logic r_i);
  stream_if #(W) a(), b(), c();
  assign a.data = d_i, a.valid = v_i, r_o = a.ready;
  stage #(W) s0 (.clk_i, .rst_ni, .i(a), .o(b)); stage #(W) s1 (.clk_i, .rst_ni, .i(b), .o(c));
  assign d_o = c.data, v_o = c.valid, c.ready = r_i;
endmodule
