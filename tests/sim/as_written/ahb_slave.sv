// clock HCLK, reset HRESETn async low
module ahb_slave (input logic HCLK, HRESETn, input logic HSEL, HREADY, input logic [1:0] HTRANS,
  input logic HWRITE, input logic [31:0] HADDR, HWDATA, output logic HREADYOUT, output logic [31:0] HRDATA);
  logic [31:0] regs [4]; logic wr; logic [1:0] ad;
  always_ff @(posedge HCLK, negedge HRESETn)
    if (!HRESETn) begin wr <= 0; ad <= 0; foreach (regs[i]) regs[i] <= '0; end
    else begin
      if (HREADY) begin wr <= HSEL & HWRITE & HTRANS[1]; ad <= HADDR[3:2]; end
      if (wr) regs[ad] <= HWDATA;
    end
  assign HREADYOUT = 1'b1; assign HRDATA = regs[ad];
endmodule
