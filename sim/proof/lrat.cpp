// Checks a proof that a set of clauses cannot be satisfied.
//
//   lrat PROBLEM PROOF
//
// PROBLEM is in DIMACS' format of CNF. PROOF is in the text format LRAT [Cruz-Filipe et al., "Efficient
// Certified RAT Verification", CADE 2017], without RAT steps; each line is one of
//   ID LITERAL... 0 HINT... 0   a further clause
//   ID d CLAUSE... 0            these clauses are not needed any more
// The problem's clauses have the numbers 1, 2, ... A further clause follows by its hints, numbers of
// clauses: let all of its literals be false; each hint in turn then has one literal left that may be
// true, and is; and the last one has none. So nothing is searched here, and a solver's mistake cannot
// be repeated.
//
// Prints `verified LINES`, as soon as the empty clause has been shown, and ends with status 0; or says
// on standard error which line does not follow, and ends with status 1.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

using Clause = std::vector<int32_t>;

static const char* name;  // of the file that is read
static FILE* file;
static uint64_t line;
static std::unordered_map<int64_t, Clause> clauses;
static int64_t variables, last;         // how many; the greatest number of a clause so far
static std::vector<int8_t> value;       // by variable: 1 true, -1 false, 0 neither
static std::vector<int32_t> assigned;   // which variables have one

[[noreturn]] static void refuse(const char* why) {
    fprintf(stderr, "%s: line %llu: %s\n", name, (unsigned long long)line, why);
    exit(1);
}

static void open(const char* path) {
    name = path, line = 1, file = fopen(path, "r");
    if (!file) refuse("cannot be opened");
}

// Skips blanks; the first character after them, which is left to be read.
static int peek(bool lines) {
    int next;
    while ((next = getc(file)) == ' ' || next == '\t' || next == '\r' || (lines && next == '\n'))
        line += next == '\n';
    ungetc(next, file);
    return next;
}

static int64_t number(bool lines = false) {
    int next = peek(lines);
    bool negative = next == '-';
    if (negative) getc(file), next = getc(file);
    else next = getc(file);
    if (next < '0' || next > '9') refuse("a number is missing");
    int64_t result = 0;
    for (; next >= '0' && next <= '9'; next = getc(file))
        if ((result = 10 * result + (next - '0')) > INT64_C(1) << 53) refuse("a number is too large");
    if (next != EOF && next != ' ' && next != '\t' && next != '\r' && next != '\n')
        refuse("a number is cut short");
    ungetc(next, file);
    return negative ? -result : result;
}

static Clause literals(bool lines) {
    Clause clause;
    while (int64_t literal = number(lines)) {
        if (literal > variables || -literal > variables) refuse("no variable has this number");
        clause.push_back((int32_t)literal);
    }
    return clause;
}

static void word(const char* wanted) {
    peek(true);
    for (; *wanted; wanted++)
        if (getc(file) != *wanted) refuse("the file must begin with `p cnf VARIABLES CLAUSES`");
}

static void read_problem(const char* path) {
    open(path);
    while (peek(true) == 'c') {
        while (getc(file) != '\n')
            if (feof(file)) refuse("the problem is missing");
        line++;
    }
    word("p"), word("cnf");
    variables = number();
    int64_t count = number();
    if (variables < 0 || variables >= INT32_MAX || count < 0) refuse("wrong numbers of variables or clauses");
    while (last < count) clauses[++last] = literals(true);
    if (peek(true) != EOF) refuse("there are more clauses than the file says");
    fclose(file);
    value.assign(variables + 1, 0);
}

static int of(int32_t literal) { return literal < 0 ? -value[-literal] : value[literal]; }

static void make_true(int32_t literal) {
    int32_t variable = literal < 0 ? -literal : literal;
    value[variable] = literal < 0 ? -1 : 1;
    assigned.push_back(variable);
}

// Reads the hints of a clause, and refuses it if it does not follow by them.
static void follow(const Clause& clause) {
    bool done = false;
    for (int32_t literal : clause) {
        if (of(literal) > 0) done = true;  // a literal and its inverse: always true
        if (of(literal) == 0) make_true(-literal);
    }
    while (int64_t hint = number()) {
        if (hint < 0) refuse("a RAT step, which is not understood");
        auto found = clauses.find(hint);
        if (found == clauses.end()) refuse("a hint is no clause, or was deleted");
        if (done) refuse("hints follow after the clause has been shown");
        int32_t left = 0;
        for (int32_t literal : found->second) {
            if (of(literal) < 0 || literal == left) continue;
            if (left) refuse("a hint leaves more than one literal");
            left = literal;
        }
        if (!left) done = true;
        else if (of(left) > 0) refuse("a hint says nothing new");
        else make_true(left);
    }
    if (!done) refuse("the clause does not follow by its hints");
    for (int32_t variable : assigned) value[variable] = 0;
    assigned.clear();
}

int main(int count, char** words) {
    if (count != 3) {
        fprintf(stderr, "usage: lrat PROBLEM PROOF\n");
        return 2;
    }
    read_problem(words[1]);
    bool shown = false;
    for (auto& [id, clause] : clauses) shown |= clause.empty();
    open(words[2]);
    uint64_t lines = 0;
    while (!shown) {
        if (peek(true) == EOF) refuse("the proof ends before the empty clause");
        int64_t id = number();
        if (peek(false) == 'd') {
            getc(file);
            while (int64_t which = number())
                if (!clauses.erase(which)) refuse("what is deleted is no clause");
        } else {
            if (id <= last) refuse("a new clause must have a new number");
            Clause clause = literals(false);
            follow(clause);
            shown = clause.empty();
            clauses[last = id] = clause;
        }
        lines++;
    }
    printf("verified %llu\n", (unsigned long long)lines);
    return 0;
}
