"""The functions of CHLO: compositions of sums, products, roots, exponentials and logarithms."""
