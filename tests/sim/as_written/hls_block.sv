// clock ap_clk, reset ap_rst_n sync low
module hls_block (input wire ap_clk, input wire ap_rst_n, input wire ap_start,
  output reg ap_done, output wire ap_idle, input wire [31:0] a, output reg [31:0] ap_return);
  reg [2:0] state; wire ap_rst_n_inv; assign ap_rst_n_inv = ~ap_rst_n;
  assign ap_idle = state == 0;
  always @(posedge ap_clk) begin
    if (ap_rst_n_inv == 1'b1) begin state <= 0; ap_done <= 0; ap_return <= 0; end
    else begin
      ap_done <= state == 3;
      if (state == 0) begin if (ap_start) state <= 1; end else if (state == 3) state <= 0; else state <= state + 1;
      if (state == 2) ap_return <= a + 1;
    end
  end
endmodule
