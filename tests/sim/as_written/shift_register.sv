// clock clk, reset n_rst async low
module shift_register #(parameter N = 8) (input logic clk, n_rst, shift_enable, serial_in, output logic [N-1:0] parallel_out);
  always_ff @(posedge clk, negedge n_rst) begin
    if (1'b0 == n_rst) parallel_out <= {N{1'b1}};
    else if (shift_enable) parallel_out <= {parallel_out[N-2:0], serial_in};
  end
endmodule
