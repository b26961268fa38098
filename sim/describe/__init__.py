"""What a block is: claims, properties, configurations; and the same with other parameters."""
