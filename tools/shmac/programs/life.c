/* Conway's game of life on a torus: after 4 generations a glider is one place further, and after 28 on
 * 7 x 7 it is where it was. */
#include <stdio.h>
#include <string.h>

#define SIDE 7

static unsigned char cells[SIDE][SIDE], next[SIDE][SIDE], first[SIDE][SIDE];

static void generation(void)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int around = -cells[i][j];
            for (int di = SIDE - 1; di <= SIDE + 1; di++)
                for (int dj = SIDE - 1; dj <= SIDE + 1; dj++)
                    around += cells[(i + di) % SIDE][(j + dj) % SIDE];
            next[i][j] = around == 3 || (around == 2 && cells[i][j]);
        }
    memcpy(cells, next, sizeof cells);
}

int main(void)
{
    static const char glider[3][4] = {".X.", "..X", "XXX"};
    int wrong = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            first[i][j] = cells[i][j] = glider[i][j] == 'X';
    for (int count = 1; count <= 4 * SIDE; count++) {
        generation();
        if (count == 4)
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++)
                    wrong += cells[(i + 1) % SIDE][(j + 1) % SIDE] != first[i][j];
    }
    wrong += memcmp(cells, first, sizeof cells) != 0;
    for (int i = 0; i < 3; i++)
        printf("%c%c%c\n", ".X"[cells[i][0]], ".X"[cells[i][1]], ".X"[cells[i][2]]);
    return wrong;
}
