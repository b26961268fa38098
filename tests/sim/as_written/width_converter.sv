// clock clk, reset async_rst_b async low
module width_converter #(parameter int IW = 8, R = 4) (input logic clk, async_rst_b, input logic [IW-1:0] d, input logic v,
  output logic [IW*R-1:0] q, output logic qv);
  logic [$clog2(R)-1:0] c;
  always_ff @(posedge clk or negedge async_rst_b)
    if (~async_rst_b) begin c <= '0; q <= '0; qv <= '0; end
    else begin
      qv <= v && c == R-1;
      if (v) begin c <= c + 1'b1; q[c*IW +: IW] <= d; end
    end
endmodule
