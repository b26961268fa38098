// refused: crc8.sv:5: unsupported language feature
module crc8 (input logic clk, srst, input logic [7:0] d, input logic en, output logic [7:0] crc);
  function automatic [7:0] next(input [7:0] c, input [7:0] x);
    logic [7:0] r = c ^ x;
    repeat (8) r = r[7] ? (r << 1) ^ 8'h07 : r << 1;
    return r;
  endfunction
  always_ff @(posedge clk) if (srst) crc <= 8'hFF; else if (en) crc <= next(crc, d);
endmodule
