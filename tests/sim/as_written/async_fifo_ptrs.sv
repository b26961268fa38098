// refused: its registers have the clocks wclk (at async_fifo_ptrs.sv:3.3), rclk (at async_fifo_ptrs.sv:4.3)
module async_fifo_ptrs (input logic wclk, rclk, wrst_n, rrst_n, winc, rinc, output logic [3:0] wptr, rptr);
  always_ff @(posedge wclk or negedge wrst_n) if (!wrst_n) wptr <= '0; else if (winc) wptr <= wptr + 4'd1;
  always_ff @(posedge rclk or negedge rrst_n) if (!rrst_n) rptr <= '0; else if (rinc) rptr <= rptr + 4'd1;
endmodule
