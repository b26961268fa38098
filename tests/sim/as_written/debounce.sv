// clock clk_core, reset nreset sync low
module debounce #(parameter int unsigned LIMIT = 5) (input logic clk_core, nreset, pin, output logic q);
  logic [$clog2(LIMIT+1)-1:0] n; logic [1:0] s;
  always_ff @(posedge clk_core) begin
    s <= {s[0], pin};
    if (!nreset) begin n <= '0; q <= '0; end
    else if (s[1] == q) n <= '0;
    else if (n == LIMIT) begin q <= s[1]; n <= '0; end
    else n <= n + 1'b1;
  end
endmodule
