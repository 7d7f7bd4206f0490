; What is coloured in Python, and nothing else: a query is compiled whenever a screen opens, and patterns that look at
; what stands around a word cost the most.

(comment) @comment
(string) @string
(escape_sequence) @constant
(interpolation) @plain

[(integer) (float) (true) (false) (none) (ellipsis)] @constant

[
  "and" "as" "assert" "async" "await" "break" "case" "class" "continue" "def" "del" "elif" "else" "except" "finally" "for"
  "from" "global" "if" "import" "in" "is" "is not" "lambda" "match" "nonlocal" "not" "not in" "or" "pass" "raise" "return" "try"
  "while" "with" "yield"
] @keyword

(decorator) @function
(function_definition name: (identifier) @function)
(class_definition name: (identifier) @type)
(call function: (identifier) @function)
