// clock aclk, reset aresetn sync low
module axis_last #(parameter int N = 4) (input logic aclk, aresetn, input logic [7:0] s_axis_tdata, input logic s_axis_tvalid,
  output logic s_axis_tready, output logic [7:0] m_axis_tdata, output logic m_axis_tvalid, m_axis_tlast, input logic m_axis_tready);
  logic [$clog2(N)-1:0] n;
  assign s_axis_tready = m_axis_tready, m_axis_tvalid = s_axis_tvalid, m_axis_tdata = s_axis_tdata, m_axis_tlast = n == N-1;
  always_ff @(posedge aclk) if (!aresetn) n <= '0; else if (m_axis_tvalid && m_axis_tready) n <= n == N-1 ? '0 : n + 1'b1;
endmodule
