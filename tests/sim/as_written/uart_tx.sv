// clock i_clk, reset i_rst_n async low
module uart_tx #(parameter int CLKS = 4) (input logic i_clk, i_rst_n, input logic i_valid,
  input logic [7:0] i_data, output logic o_ready, output logic o_tx);
  typedef enum logic [1:0] {IDLE, START, DATA, STOP} state_e;
  state_e state_q, state_d;
  logic [$clog2(CLKS)-1:0] cnt; logic [2:0] idx; logic [7:0] sh;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:  if (i_valid) state_d = START;
      START: if (cnt == CLKS-1) state_d = DATA;
      DATA:  if (cnt == CLKS-1 && idx == 7) state_d = STOP;
      STOP:  if (cnt == CLKS-1) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end
  always_ff @(posedge i_clk or negedge i_rst_n) begin
    if (~i_rst_n) begin state_q <= IDLE; cnt <= '0; idx <= '0; sh <= '0; end
    else begin
      state_q <= state_d;
      cnt <= (state_q == IDLE || cnt == CLKS-1) ? '0 : cnt + 1'b1;
      if (state_q == IDLE) sh <= i_data;
      else if (state_q == DATA && cnt == CLKS-1) begin sh <= sh >> 1; idx <= idx + 1'b1; end
    end
  end
  assign o_ready = state_q == IDLE;
  assign o_tx = state_q == START ? 1'b0 : state_q == DATA ? sh[0] : 1'b1;
endmodule
