// clock S_AXI_ACLK, reset S_AXI_ARESETN sync low
module axi_lite_regs #(parameter integer C_S_AXI_DATA_WIDTH = 32) (
  input wire S_AXI_ACLK, input wire S_AXI_ARESETN,
  input wire [3:0] S_AXI_AWADDR, input wire S_AXI_AWVALID, output wire S_AXI_AWREADY,
  input wire [C_S_AXI_DATA_WIDTH-1:0] S_AXI_WDATA, input wire S_AXI_WVALID, output wire S_AXI_WREADY,
  output wire S_AXI_BVALID, input wire S_AXI_BREADY,
  output wire [C_S_AXI_DATA_WIDTH-1:0] slv_reg0);
  reg awready, bvalid; reg [C_S_AXI_DATA_WIDTH-1:0] r0;
  assign S_AXI_AWREADY = awready, S_AXI_WREADY = awready, S_AXI_BVALID = bvalid, slv_reg0 = r0;
  always @(posedge S_AXI_ACLK)
    if (S_AXI_ARESETN == 1'b0) begin awready <= 0; bvalid <= 0; r0 <= 0; end
    else begin
      awready <= ~awready & S_AXI_AWVALID & S_AXI_WVALID;
      if (awready & S_AXI_AWVALID & S_AXI_WVALID) begin bvalid <= 1; if (S_AXI_AWADDR == 0) r0 <= S_AXI_WDATA; end
      else if (S_AXI_BREADY) bvalid <= 0;
    end
endmodule
