#include <stdio.h>
#include <stdlib.h>

#include "cJSON.h"

int main(void) {
  cJSON *all = cJSON_CreateArray();
  for (int i = 0; i < 50; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddNumberToObject(one, "number", i * 1.25);
    cJSON_AddStringToObject(one, "name", i & 1 ? "odd \"one\"" : "even\tone");
    cJSON_AddBoolToObject(one, "small", i < 25);
    cJSON_AddItemToArray(all, one);
  }
  char *text = cJSON_Print(all);
  cJSON *again = cJSON_Parse(text);
  char *short_text = cJSON_PrintUnformatted(cJSON_GetArrayItem(again, 7));
  printf("%d %s\n", cJSON_Compare(all, again, 1), short_text);
  puts(text);
  return 0;
}
