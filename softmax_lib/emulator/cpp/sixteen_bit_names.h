// What sixteen_bit_functions.h is written in, taken back.
#undef NUMBER
#undef OTHER_NUMBER
#undef PAIR
#undef RAW
#undef RAW_PAIR
#undef FORMAT
#undef WORD
#undef TWICE
#undef CONVERSIONS
#undef OPERATORS_OF_NUMBERS
#undef OPERATORS_OF_PAIRS
